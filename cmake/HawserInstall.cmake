# SPDX-License-Identifier: BSD-2-Clause
# What goes where; each file only if it is in the tree. The sample configuration goes to the
# documentation: an administrator's own /etc/hawser/hawser.conf is never overwritten.
set(HAWSER_UNIT_DIR "lib/systemd/system" CACHE STRING "folder of the unit files, below the prefix")

if(TARGET hawserd)
  install(TARGETS hawserd RUNTIME DESTINATION "${CMAKE_INSTALL_SBINDIR}")
endif()
if(TARGET hawserctl)
  install(TARGETS hawserctl RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()

foreach(section 5 8)
  file(GLOB pages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/man/*.${section}")
  if(pages)
    install(FILES ${pages} DESTINATION "${CMAKE_INSTALL_MANDIR}/man${section}")
  endif()
endforeach()

file(GLOB units CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/packaging/*.service"
  "${PROJECT_SOURCE_DIR}/packaging/*.socket")
if(units)
  install(FILES ${units} DESTINATION "${HAWSER_UNIT_DIR}")
endif()

file(GLOB samples CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/packaging/*.conf")
if(samples)
  install(FILES ${samples} DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples")
endif()

if(EXISTS "${PROJECT_SOURCE_DIR}/packaging/hawserctl.bash")
  install(FILES "${PROJECT_SOURCE_DIR}/packaging/hawserctl.bash"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME hawserctl)
endif()

file(GLOB documents CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/*.md" "${PROJECT_SOURCE_DIR}/LICENSE")
if(documents)
  install(FILES ${documents} DESTINATION "${CMAKE_INSTALL_DOCDIR}")
endif()
